# The instances of a provider come from the state of another project.

language {
  experiments = [dynamic_provider_for_each]
}

data "terraform_remote_state" "platform" {
  backend = "local"
  config  = { path = "../platform/terraform.tfstate" }
}

provider "terraform" {
  alias    = "by_region"
  for_each = data.terraform_remote_state.platform.outputs.regions
}

resource "terraform_data" "service" {
  for_each = data.terraform_remote_state.platform.outputs.regions_in_use
  provider = terraform.by_region[each.key]
  input    = "service-${each.key}"
}

output "services" {
  value = [for service in terraform_data.service : service.output]
}
