variable "names" {
  type    = list(string)
  default = []
}

variable "who" {
  type       = string
  default    = null
  deprecated = "Give names = [\"...\"] instead, which can be several."
}

locals {
  names = var.who == null ? var.names : [var.who]
}

output "texts" {
  value = [for name in local.names : "Hello, ${name}!"]
}

output "text" {
  value      = "Hello, ${join(" and ", local.names)}!"
  deprecated = "Use texts, a list."
}
