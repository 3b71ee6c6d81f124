/**
 * Whether mail may be sent to this URL only after STARTTLS (RFC 3207): where it has a user, whose password leaves this
 * machine. Whoever is between the two can remove the server's offer of STARTTLS, which else nobody would notice. The
 * URL may say otherwise itself, by `requireTLS` or `ignoreTLS`, for a relay on a private network.
 */
export function requiresStartTls(url: string): boolean {
  const parsed = URL.parse(url)
  // nodemailer reads some that are none, or says what is wrong with them.
  if (parsed === null) return true
  const { protocol, username, password, hostname, searchParams } = parsed
  if (protocol !== 'smtp:' || (username === '' && password === '') || isLoopback(hostname.toLowerCase())) return false
  return !searchParams.has('requireTLS') && !searchParams.has('ignoreTLS')
}

/** Why a server that does not take STARTTLS is not used, and what to do. */
export const startTlsRefused =
  'The mail server does not take STARTTLS, without which the password and the mail could be read on their way. Use ' +
  'smtps://, or for a relay on a private network add ?requireTLS=false to the URL'

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname)
}
