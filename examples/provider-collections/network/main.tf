language {
  experiments = [provider_collections]
}

terraform {
  required_providers {
    terraform = {
      source                = "terraform.io/builtin/terraform"
      configuration_aliases = [terraform.each[*]]
    }
  }
}

variable "links" {
  description = "For each link the region that it starts in."
  type        = map(string)
}

resource "terraform_data" "link" {
  for_each = var.links
  provider = terraform.each[each.value]
  input    = each.key
}

output "links" {
  value = { for name, link in terraform_data.link : name => var.links[name] }
}
