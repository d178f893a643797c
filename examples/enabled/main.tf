# A report that is written outside of production only, and a module that exists in production only.

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
  # A disabled object is null.
  value = terraform_data.debug == null ? "off" : terraform_data.debug.output
}

output "reports" {
  # One element, or no element.
  value = module.report[*].title
}
