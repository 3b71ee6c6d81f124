/** The header field that carries an access token (RFC 6750 §2.1). */
export function bearerHeaders(token: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}` }
}

/** The access token of header fields made by {@link bearerHeaders}. */
export function bearerToken({ authorization = '' }: Readonly<Record<string, string>>): string {
  return authorization.slice('Bearer '.length)
}
