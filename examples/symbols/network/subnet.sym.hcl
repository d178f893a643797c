symbols "sizes" {
  source = "./sizes.tfsym.hcl"
}

values {
  base = "10.20.0.0/16"
}

typedef "subnet" {
  type = object({
    number = number
    size   = optional(symbols::sizes::size(), "small")
    tags   = optional(map(string), {})
  })
  description = "A part of the network."
}

function "cidr" {
  description = "The addresses of a subnet."
  parameter "subnet" {
    type = symbols::subnet()
  }
  return = cidrsubnet(value.base, symbols.sizes.bits[param.subnet.size], param.subnet.number)
}
