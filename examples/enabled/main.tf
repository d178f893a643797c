# A report that is only written where somebody reads it, and a module that is only there in production.

variable "stage" {
  type    = string
  default = "test"
}

resource "terraform_data" "app" {
  input = "app in ${var.stage}"
}

resource "terraform_data" "debug" {
  input = "listens to ${terraform_data.app.output}"

  lifecycle {
    enabled = var.stage != "production"
  }
}

module "report" {
  source  = "./report"
  subject = terraform_data.app.output

  lifecycle {
    enabled = var.stage == "production"
  }
}

output "debug" {
  # What is not enabled is null.
  value = terraform_data.debug == null ? "off" : terraform_data.debug.output
}

output "reports" {
  # An element, or none.
  value = module.report[*].title
}
