# A small web site: one object for each page. Creating it writes the file, destroying it removes the file.

variable "pages" {
  description = "The pages, by name of their file."
  type        = map(object({ title = string, text = string }))

  default = {
    index = { title = "Welcome", text = "This page was written by yuba apply." }
    about = { title = "About", text = "Change a text in main.tf and apply again: this page is replaced, the other page stays." }
  }
}

variable "list" {
  description = "Whether there is a list of all pages."
  type        = bool
  default     = true
}

locals {
  menu = join(" ", [for name, page in var.pages : "<a href=\"${name}.html\">${page.title}</a>"])
}

resource "terraform_data" "page" {
  for_each         = var.pages
  input            = "site/${each.key}.html"
  triggers_replace = templatefile("page.tftpl", { page = each.value, menu = local.menu })

  provisioner "local-exec" {
    command     = "mkdir -p site && printf '%s' \"$HTML\" > \"$FILE\""
    environment = { FILE = self.input, HTML = self.triggers_replace }
  }

  provisioner "local-exec" {
    when        = destroy
    command     = "rm -f \"$FILE\""
    environment = { FILE = self.input }
  }
}

resource "terraform_data" "list" {
  input            = "site/pages.txt"
  triggers_replace = sort([for page in terraform_data.page : page.output])

  lifecycle {
    enabled = var.list
  }

  provisioner "local-exec" {
    command     = "printf '%s\\n' \"$PAGES\" > \"$FILE\""
    environment = { FILE = self.input, PAGES = join("\n", self.triggers_replace) }
  }

  provisioner "local-exec" {
    when        = destroy
    command     = "rm -f \"$FILE\""
    environment = { FILE = self.input }
  }
}

output "files" {
  value = concat(sort([for page in terraform_data.page : page.output]), terraform_data.list[*].output)
}
