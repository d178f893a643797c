terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}

variable "region" {
  type = string
}

resource "terraform_data" "service" {
  input = "service-${var.region}"
}

output "name" {
  value = terraform_data.service.output
}
