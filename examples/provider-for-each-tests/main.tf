# A module whose regions can be added, disabled and removed. A region is removed in two steps: first it is disabled, so that
# its objects are destroyed while its provider instance exists; then it is removed.

variable "regions" {
  type = map(object({
    enabled = optional(bool, true)
  }))
}

provider "terraform" {
  alias    = "by_region"
  for_each = var.regions
}

resource "terraform_data" "example" {
  for_each = { for name, region in var.regions : name => region if region.enabled }
  provider = terraform.by_region[each.key]

  input = "in ${each.key}"
}

output "regions" {
  value = [for name, object in terraform_data.example : name]
}
