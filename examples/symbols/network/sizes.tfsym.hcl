typedef "size" {
  type = string
}

values {
  bits = {
    small = 8
    large = 4
  }
}
