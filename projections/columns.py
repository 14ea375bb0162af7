"""A numpy column that grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Column:
    """A growing array of numbers (or of rows of numbers); appending is cheap, reading is a view without a copy.

    A view taken before an append may or may not see later changes: take a fresh one per request.
    """

    def __init__(self, dtype: DTypeLike, width: int | None = None) -> None:
        self._tail: tuple[int, ...] = () if width is None else (width,)
        self._data: NDArray[Any] = np.zeros((16, *self._tail), dtype=dtype)
        self._length = 0

    @classmethod
    def of(cls, values: NDArray[Any]) -> Column:
        """A column that starts with a copy of these values."""
        column = cls(values.dtype, values.shape[1] if values.ndim == 2 else None)
        column.extend(values)
        return column

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> NDArray[Any]:
        """The values so far; writing into the view writes into the column."""
        return self._data[: self._length]

    def append(self, value: Any) -> None:
        """Add one value."""
        self._reserve(1)
        self._data[self._length] = value
        self._length += 1

    def extend(self, values: NDArray[Any]) -> None:
        """Add many values."""
        self._reserve(len(values))
        self._data[self._length : self._length + len(values)] = values
        self._length += len(values)

    def copy(self) -> Column:
        """An independent copy."""
        return Column.of(self.values)

    def _reserve(self, more: int) -> None:
        if self._length + more > len(self._data):
            size = max(self._length + more, 2 * len(self._data))
            grown = np.zeros((size, *self._tail), dtype=self._data.dtype)
            grown[: self._length] = self.values
            self._data = grown
