"""The ids of a dataset's items in an index: both sides of a pair live there, each under a name of its own."""


def entry_id(modality: str, item: str) -> str:
    """The id of one modality of one item; no two are alike, for a modality's name has no colon.

    >>> entry_id("image", "harbour/7.jpg")
    'image:harbour/7.jpg'
    """
    return f"{modality}:{item}"
