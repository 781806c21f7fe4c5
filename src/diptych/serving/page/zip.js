// A ZIP archive of files as they are: images are compressed already.

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

export function crc32(data) {
  let sum = 0xffffffff;
  for (const byte of data) sum = TABLE[(sum ^ byte) & 255] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

/** Fields of an archive: a number and how many bytes it takes, in turn. */
function packed(...fields) {
  const bytes = [];
  for (let place = 0; place < fields.length; place += 2)
    for (let shift = 0; shift < fields[place + 1]; shift += 1) bytes.push((fields[place] >>> (8 * shift)) & 255);
  return Uint8Array.from(bytes);
}

const UTF8 = 0x0800;

/** `files` have a `name` and `data`; of two with the same name the second gets a number. */
export function zipped(files) {
  const seen = new Map();
  const [bodies, directory] = [[], []];
  let place = 0;
  let listed = 0;
  for (const { name, data } of files) {
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    const written = new TextEncoder().encode(before ? name.replace(/(\.[^.]*)?$/, `-${before + 1}$1`) : name);
    const about = [0, 2, 0, 2, 0x21, 2, crc32(data), 4, data.length, 4, data.length, 4, written.length, 2, 0, 2];
    const head = packed(0x04034b50, 4, 20, 2, UTF8, 2, ...about);
    const entry = packed(0x02014b50, 4, 20, 2, 20, 2, UTF8, 2, ...about, 0, 2, 0, 2, 0, 2, 0, 4, place, 4);
    bodies.push(head, written, data);
    directory.push(entry, written);
    place += head.length + written.length + data.length;
    listed += entry.length + written.length;
  }
  const end = packed(0x06054b50, 4, 0, 2, 0, 2, files.length, 2, files.length, 2, listed, 4, place, 4, 0, 2);
  return new Blob([...bodies, ...directory, end], { type: "application/zip" });
}
