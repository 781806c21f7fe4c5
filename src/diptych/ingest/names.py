"""Interpret names: those of columns, in the languages that tables are often written in, and those of image files."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from diptych.media import KINDS

Part = str
"""What a column can hold: a kind of media, "title", "text", "tags", "label", "split" or "id"; titles, texts and tags
are all text, and are joined in this order."""


def word_set(written: str) -> frozenset[str]:
    """The words of a text, for sets of many words."""
    return frozenset(written.split())


def _names(written: str) -> dict[str, int]:
    """Names in the order of their preference; a hyphen joins the words of one."""
    return {name.replace("-", "_"): rank for rank, name in enumerate(written.split())}


NAMES: Final[dict[Part, dict[str, int]]] = {
    **{kind.name: _names(kind.column_names) for kind in KINDS.values()},
    "title": _names(
        "title titles name headline heading subject caption-title label-text "
        "titel bezeichnung produktname artikelname uberschrift benennung titre nom intitule titulo nombre denominacion "
        "titolo nome denominazione naam benaming nazwa tytul namn navn nimi baslik isim ad nazev naslov cim "
        "название наименование заголовок имя назва "
        "タイトル 題名 題 名称 名前 商品名 品名 标题 名字 产品名称 商品名称 標題 名稱 "
        "제목 이름 상품명 ชื่อ عنوان اسم כותרת שם τιτλος ten"
    ),
    "text": _names(
        "text texts caption captions description descriptions sentence sentences desc alt alt-text alttext prompt "
        "body content long-description short-description about overview details summary abstract article comment "
        "beschreibung beschreibungen bildunterschrift bildbeschreibung produktbeschreibung langtext kurztext inhalt "
        "artikeltext legende texte contenu resume descripcion texto leyenda contenido descrizione testo didascalia "
        "contenuto descricao legenda conteudo omschrijving beschrijving bijschrift tekst opis podpis beskrivning "
        "bildtext beskrivelse kuvaus aciklama metin popis leiras "
        "описание описания текст подпись аннотация опис "
        "説明 説明文 解説 キャプション 本文 文章 テキスト 描述 说明 简介 文本 "
        "介绍 內容 内容 說明 설명 내용 캡션 본문 텍스트 คำอธิบาย รายละเอียด ข้อความ وصف الوصف نص תיאור περιγραφη mo-ta"
    ),
    "tags": _names(
        "tags tag keywords keyword tagline schlagworte schlagwort stichworte stichwort schlusselworter mots-cles "
        "etiquetas palabras-clave palavras-chave parole-chiave trefwoorden slowa-kluczowe nyckelord "
        "теги ключевые-слова タグ キーワード 关键词 标签 關鍵字 標籤 태그 키워드 แท็ก"
    ),
    "label": _names(
        "label labels class classes category categories class-name classname class-label category-name category-tree "
        "category-path main-category target topic genre genres species "
        "kategorie kategorien klasse klassen warengruppe produktgruppe rubrik etikett gattung "
        "categorie classe rubrique etiquette categoria categorias clase etiqueta classi rotulo "
        "rubriek kategoria klasa kategori kategorier klass luokka etiket sinif kategorija "
        "категория категории класс рубрика метка жанр категорія "
        "カテゴリ カテゴリー 分類 クラス ラベル 类别 分类 类 類別 "
        "분류 카테고리 범주 라벨 หมวดหมู่ ประเภท فئة تصنيف קטגוריה κατηγορια danh-muc"
    ),
    "split": _names("split splits set subset partition fold teilmenge aufteilung"),
    "id": _names(
        "id ids item-id key uid uuid guid uniq-id unique-id uniqid identifier sku asin ean gtin upc isbn mpn pid "
        "product-id article-number item-number part-number product-code item-code code nr no number "
        "artikelnummer artikelnr artikel-nr bestellnummer produktnummer kennung reference ref identifiant "
        "identificador codigo codice numer identyfikator artikelnr varenummer "
        "артикул код идентификатор номер 番号 商品番号 型番 品番 编号 商品编号 货号 編號 번호 상품번호 코드 รหัส معرف"
    ),
}
"""The usual names of each part, plain, the most telling first."""

_GENERIC = word_set(
    "product products item items article artikel produkt produkte producto produit prodotto produto listing goods "
    "object prod the my de du des del der"
)
_LANGUAGES = word_set("en de fr es it pt nl pl ru ja jp zh cn ko kr tr sv da fi cs eng ger deu fra spa rus")

NO_CLASS = word_set(
    "price cost amount currency preis wahrung prix precio prezzo preco цена 価格 价格 가격 discount rabatt retail "
    "rating ratings stars score rank review reviews bewertung note "
    "brand marke marque marca manufacturer hersteller vendor seller store shop author user username owner "
    "date datum time timestamp year month day created updated modified "
    "size grosse width height weight length unit quantity qty stock count "
    "color colour farbe couleur color colore cor material "
    "status state availability available condition currency country land pays pais language lang locale "
    "url link href website license licence source available gender geschlecht split"
)
"""Words in the names of columns that have few values and are no classes all the same."""


def words_of(header: str) -> list[str]:
    """The words of a column's name: lower case, without accents, cut at signs and at "camelCase".

    >>> words_of("productName"), words_of("Größe (cm)"), words_of("URL_Imágen")
    (['product', 'name'], ['grosse', 'cm'], ['url', 'imagen'])
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", header)
    plain = unicodedata.normalize("NFKD", parted.replace("ß", "ss").replace("ł", "l").replace("ø", "o").lower())
    bare = unicodedata.normalize("NFC", "".join(sign for sign in plain if not _is_accent(sign)))
    return [word for word in re.split(r"[\W_]+", bare) if word]


def name_strength(part: Part, header: str) -> int:
    """How strongly a column's name suggests a part: 3 for a usual name, 2 if it ends or begins with one, else 0.

    Words such as "product", and codes of languages at the end, are passed over.

    >>> name_strength("text", "Produkt_Beschreibung_de"), name_strength("image", "url imagen"), name_strength("id", "x")
    (3, 2, 0)
    """
    words = words_of(header)
    kept = [word for word in words if word not in _GENERIC] or words
    while len(kept) > 1 and kept[-1] in _LANGUAGES:
        kept = kept[:-1]
    for some in (words, kept):
        if "_".join(some) in NAMES[part] or "".join(some) in NAMES[part]:
            return 3
    if not kept:
        return 0
    ends = {kept[0], kept[-1]}
    return 2 if ends & NAMES[part].keys() or _holds_foreign(part, "".join(kept)) else 0


def name_rank(part: Part, header: str) -> int:
    """How early a column's name stands among the usual names of a part; a large number where it is none."""
    words = words_of(header)
    kept = [word for word in words if word not in _GENERIC and word not in _LANGUAGES] or words
    ranks = [NAMES[part].get("_".join(some), 999) for some in (words, kept)]
    return min([*ranks, *(500 + NAMES[part].get(word, 499) for word in kept)])


def names_no_class(header: str) -> bool:
    """Whether a column's name says that its values are no classes, however few there are."""
    return bool(NO_CLASS.intersection(words_of(header)))


def _holds_foreign(part: Part, joined: str) -> bool:
    """Whether a name in a script without spaces holds a usual name of that script."""
    return not joined.isascii() and any(
        name in joined for name in NAMES[part] if len(name) >= 2 and ord(name[0]) >= 0x0E00
    )


def _is_accent(sign: str) -> bool:
    """Whether a character is an accent of a Latin letter, and not part of a Japanese, Thai or Russian one."""
    return "\u0300" <= sign <= "\u036f"


_CAMERAS = word_set(
    "img dsc dscn dscf dsci pxl mvi gopr dji dcim pict imgp sdc cimg kodak canon nikon sony wp whatsapp telegram "
    "signal screenshot screen shot screenshots capture bildschirmfoto snapshot image images imgs picture pictures pic "
    "pics "
    "photo photos foto fotos bild bilder frame frames scan scans thumb thumbnail thumbnails untitled unnamed unbenannt "
    "file files copy kopie copie final edited edit export temp tmp default original orig "
    "jpg jpeg png gif webp svg heic tiff bmp vid video sample samples item data dataset "
    "изображение картинка фото 画像 写真 图片 照片 이미지 사진"
)
"""Words that cameras and programs put into names, and words that say no more than that there is an image."""

_RARE = 25
"""Where fewer than one name in so many holds a word, the words are accidents of codes."""

_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_LATIN_VOWELS = frozenset("aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýœ")


def text_of_name(name: str, folders: Iterable[str] = ()) -> str | None:
    """The words in the name of a file and of some folders above it; None where they say nothing.

    >>> text_of_name("a/red-running-shoe_01.jpg"), text_of_name("IMG_1234.jpg"), text_of_name("9f8a7b6c5d4e3f2a.png")
    ('red running shoe', None, None)
    """
    words = [word for part in (*folders, PurePosixPath(name).stem) for word in words_of_name(part)]
    kept = list(dict.fromkeys(words))
    return " ".join(kept) or None


def words_of_name(name: str) -> list[str]:
    """The meaningful words of one name: no numbers, no codes, nothing a camera wrote."""
    plain = _UUID.sub(" ", unicodedata.normalize("NFC", name))
    words: list[str] = []
    for chunk in re.split(r"[\W_]+", plain):
        if chunk.casefold() not in _CAMERAS and not _is_code(chunk):
            parted = re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", chunk)
            words += [word for word in re.findall(r"[^\W\d_]+", parted) if _says_something(word)]
    return words


def texts_of_names(names: Sequence[str], folders: Sequence[Sequence[str]]) -> list[str | None]:
    """The texts in the names of several files; none at all where every name says the same, or hardly any a word.

    Args:
        names: of the files.
        folders: for each file the names of those folders that say something about it.
    """
    texts = [text_of_name(name, above) for name, above in zip(names, folders, strict=True)]
    counts = Counter(text for text in texts if text is not None)
    same, rare = len(counts) == 1 and counts.total() > 1, counts.total() * _RARE < len(names)
    if same or rare:
        return [None] * len(names)
    return texts


def _is_code(chunk: str) -> bool:
    """Whether letters and digits alternate, or letters look like a hash or a random key."""
    pieces = _PIECES.findall(chunk)
    letters = "".join(piece for piece in pieces if not piece[0].isdigit())
    said = sum(3 if sign >= "\u2e80" else 1 for sign in letters)  # one Chinese or Japanese sign says as much as three
    mixed = len(pieces) > 2 and any(piece[0].isdigit() for piece in pieces) and said < 3 * len(pieces)
    hexadecimal = re.fullmatch(r"[0-9a-f]{8,}|[0-9A-F]{8,}|(?=.*\d)(?:[0-9a-f]{4,}|[0-9A-F]{4,})", chunk) is not None
    changes = sum(one.islower() and other.isupper() for one, other in pairwise(chunk))
    return mixed or hexadecimal or (changes > 2 and changes * 4 > len(chunk))


def _says_something(word: str) -> bool:
    if word.casefold() in _CAMERAS:
        return False
    if not word.isascii():
        return len(word) >= 2 or "\u3040" <= word <= "\u9fff"
    return len(word) >= 3 and (bool(_LATIN_VOWELS.intersection(word.lower())) or word.isupper())
