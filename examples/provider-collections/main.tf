# A module receives all instances of a provider and selects one for each of its resources.

language {
  experiments = [provider_collections]
}

terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}

variable "regions" {
  type    = set(string)
  default = ["east", "west"]
}

provider "terraform" {
  alias    = "by_region"
  for_each = var.regions
}

module "network" {
  source    = "./network"
  links     = { "east-west" = "east", "west-east" = "west" }
  providers = { terraform.each[*] = terraform.by_region[*] }
}

output "links" {
  value = module.network.links
}
