/** How this service authenticates at the issuer as a client (RFC 6749 §2.3.1). */
export interface ClientAuthentication {
  /** `client_id`. */
  readonly clientId: string
  /** The secret, or a function that returns it. */
  readonly clientSecret: string | (() => string)
  /** The authentication method. Default: `client_secret_post`. */
  readonly authentication?: 'client_secret_post' | 'client_secret_basic'
}

/** A form request with the client's authentication in the body or in the header. */
export function authenticatedForm(client: ClientAuthentication, fields: Readonly<Record<string, string>>): RequestInit {
  const { clientId, clientSecret, authentication } = client
  const secret = typeof clientSecret === 'string' ? clientSecret : clientSecret()
  const headers = new Headers({ accept: 'application/json' })
  const body = new URLSearchParams(fields)
  if (authentication === 'client_secret_basic') {
    headers.set('authorization', basicAuthorization(clientId, secret))
  } else {
    body.set('client_id', clientId)
    body.set('client_secret', secret)
  }
  return { method: 'POST', headers, body }
}

/** Id and secret are form-encoded first (RFC 6749 §2.3.1). */
function basicAuthorization(clientId: string, secret: string): string {
  const encoded = [clientId, secret].map((part) => new URLSearchParams([['', part]]).toString().slice(1))
  return `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`
}
