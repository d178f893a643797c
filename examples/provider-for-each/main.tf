# One provider instance for each region, one instance of a module for each region that is in use.

terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}

variable "regions" {
  description = "All regions. An unused region stays in this list until its objects are destroyed."
  type        = set(string)
  default     = ["east", "west"]
}

variable "retired" {
  description = "Regions whose objects are to be destroyed."
  type        = set(string)
  default     = []
}

provider "terraform" {
  alias    = "by_region"
  for_each = var.regions
}

module "service" {
  source    = "./service"
  for_each  = setsubtract(var.regions, var.retired)
  region    = each.key
  providers = { terraform = terraform.by_region[each.key] }
}

output "services" {
  value = { for region, service in module.service : region => service.name }
}
