"""An index in memory that refuses what it is told to refuse."""

from diptych._core.errors import DataError


class FakeIndex:
    """Keeps entries by id; `refused` is asked for each one's fault, `added` lists the ids of every call."""

    def __init__(self, refused=lambda item: None):
        self.entries, self.refused, self.added, self.removed = {}, refused, [], []

    def add(self, items, *, replace=False):
        assert replace, "an item that is written twice after a kill must not be an error"
        for item in items:
            if (fault := self.refused(item)) is not None:
                raise DataError(f"item {item.id!r} cannot be added: {fault}")
        self.added.append([item.id for item in items])
        self.entries |= {item.id: item for item in items}
        return len(items)

    def remove(self, ids):
        self.removed.append(list(ids))
        return sum(self.entries.pop(id, None) is not None for id in ids)

    def texts(self):
        return {item.metadata["item"]: item.value for item in self.entries.values() if item.kind == "text"}
