function "tags" {
  description = "The tags of a thing: its name, and more."
  parameter "name" {
    type = string
  }
  parameter "more" {
    type     = map(string)
    variadic = true
  }
  return = merge({ name = param.name }, param.more...)
}
