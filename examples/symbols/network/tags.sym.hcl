function "tags" {
  description = "The tags of an object: its name and further tags."
  parameter "name" {
    type = string
  }
  parameter "more" {
    type     = map(string)
    variadic = true
  }
  return = merge({ name = param.name }, param.more...)
}
