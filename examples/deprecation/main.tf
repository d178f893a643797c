# The module "greeting" has a new variable and a new output. Users of the old ones get a warning at each use.

variable "name" {
  type    = string
  default = "world"
}

module "greeting" {
  source = "./greeting"

  # Warns: the module has another variable for this now.
  who = var.name
}

resource "terraform_data" "card" {
  # Warns: the module has another output for this now.
  input = module.greeting.text
}

output "card" {
  value = terraform_data.card.output
}
