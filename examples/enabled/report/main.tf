variable "subject" {
  type = string
}

resource "terraform_data" "report" {
  input = "Report on ${var.subject}"
}

output "title" {
  value = terraform_data.report.output
}
