# A cluster with its network.

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

variable "name" {
  type    = string
  default = "platform"
}

module "network" {
  source = "./network"

  name        = var.name
  environment = "production"
  range       = "10.40.0.0/16"
  zones       = ["eu-1a", "eu-1b", "eu-1c"]
  endpoints   = ["storage", "registry"]
  tags        = { Owner = "platform" }
}

module "cluster" {
  source = "./cluster"

  name    = var.name
  network = module.network.id
  subnets = module.network.subnets["private"]

  node_groups = {
    system = { minimum = 2, labels = { role = "system" } }
    web    = { minimum = 3, desired = 6, maximum = 30, labels = { role = "web" } }
    batch  = { spot = true, maximum = 50, labels = { role = "batch", preemptible = "true" } }
    gpu    = { maximum = 4, labels = { role = "gpu" } }
  }

  service_accounts = {
    autoscaler   = { actions = ["compute:Describe*", "compute:SetCapacity"] }
    certificates = { namespace = "certificates", actions = ["domain:Change*", "domain:List*"] }
    records      = { actions = ["domain:Change*", "domain:List*"] }
    backups      = { namespace = "backups", actions = ["storage:*"] }
    secrets      = { actions = ["vault:Get*"] }
    monitoring   = { namespace = "monitoring", actions = ["logging:*", "audit:Get*"] }
  }

  tags = { Owner = "platform" }
}

output "cluster" {
  value = module.cluster.arn
}

output "roles" {
  value = module.cluster.roles
}
