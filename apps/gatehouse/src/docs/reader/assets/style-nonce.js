// Scalar makes style elements as it goes. The policy of the page admits those of its own scripts by a nonce, which is
// given to each as it is made.
const nonce = document.querySelector('meta[property=csp-nonce]')?.content ?? ''
const create = Document.prototype.createElement
Document.prototype.createElement = function createElement(...parameters) {
  const element = create.apply(this, parameters)
  if (element instanceof HTMLStyleElement) element.nonce = nonce
  return element
}
