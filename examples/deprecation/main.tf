# The module "greeting" has been improved. What it wants its users to change is said when they plan, where they use it.

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
