//! Whether two expressions are written so alike that they follow the same source of data: "too similar" in the sense
//! of provider `for_each`.
