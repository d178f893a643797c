# Networks of two environments in two regions.

terraform {
  required_providers {
    testing = {
      source = "yuba/testing"
    }
  }
}

provider "testing" {
  instance = "eu"
}

provider "testing" {
  alias    = "us"
  instance = "us"
}

locals {
  security_groups = {
    web = {
      description = "Load balancers."
      rules = {
        http  = { port = 80, ranges = ["0.0.0.0/0"] }
        https = { port = 443, ranges = ["0.0.0.0/0"], conditions = { version = ["TLSv1.2", "TLSv1.3"] } }
      }
    }
    application = { rules = { http = { port = 8080, to_port = 8090 }, metrics = { port = 9090 } } }
    database    = { rules = { postgresql = { port = 5432 }, mysql = { port = 3306 } } }
  }
  environments = {
    production = { number = 10, single_gateway = false }
    staging    = { number = 20, single_gateway = true }
  }
}

module "eu" {
  source   = "./network"
  for_each = local.environments

  name            = "eu"
  environment     = each.key
  range           = "10.${each.value.number}.0.0/16"
  zones           = ["eu-1a", "eu-1b", "eu-1c"]
  single_gateway  = each.value.single_gateway
  security_groups = local.security_groups
  endpoints       = ["storage", "registry", "logging", "secrets"]
  tags            = { Owner = "platform" }
}

module "us" {
  source    = "./network"
  for_each  = local.environments
  providers = { testing = testing.us }

  name            = "us"
  environment     = each.key
  range           = "10.${each.value.number + 1}.0.0/16"
  zones           = ["us-1a", "us-1b", "us-1c"]
  single_gateway  = each.value.single_gateway
  security_groups = local.security_groups
  endpoints       = ["storage", "registry", "logging", "secrets"]
  tags            = { Owner = "platform" }
}

output "subnets" {
  value = { for key, network in merge(module.eu, { for key, network in module.us : "us-${key}" => network }) : key => network.subnets }
}
