const loopbackHosts = new Set(['127.0.0.1', '[::1]'])
const scriptSchemes = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:', 'about:', 'ws:', 'wss:', 'ftp:'])

/**
 * Why `uri` can't be registered as an address to send browsers to, or undefined when it can: an absolute URI without
 * fragment, user, wildcard, dot segments or encoded slashes; https, http on this machine alone, or an application's own
 * scheme with a dot in it (RFC 6749 §3.1.2, RFC 8252 §7, OAuth 2.1 §2.3).
 */
export function faultOfRedirectUri(uri: string): string | undefined {
  const url = URL.parse(uri)
  if (url === null || /[\s\\\u0000-\u001f\u007f]/.test(uri)) return 'must be an absolute URI'
  if (uri.includes('#')) return 'must have no fragment'
  if (url.username !== '' || url.password !== '' || /^[a-z][a-z0-9+.-]*:\/\/[^/?]*@/i.test(uri))
    return 'must name no user'
  if (uri.includes('*')) return 'must have no wildcard'
  if (
    /(^|\/)(\.|%2e){1,2}(\/|$|\?)/i.test(uri.replace(/^[^:]+:\/\//, '')) ||
    /%2f|%5c/i.test(uri.split('?', 1)[0] ?? '')
  ) {
    return 'must have no dot segments and no encoded slashes'
  }
  if (scriptSchemes.has(url.protocol)) return `must not use the scheme ${url.protocol}`
  if (url.protocol === 'https:') return undefined
  if (url.protocol === 'http:') return isLocal(url) ? undefined : 'must use https, except on localhost'
  return url.protocol.includes('.') ? undefined : 'must use https, or a scheme that is a reversed domain name'
}

function isLocal(url: URL): boolean {
  return loopbackHosts.has(url.hostname) || url.hostname === 'localhost'
}

/**
 * Whether `asked` is `registered`, character by character. Only the port of a loopback address may vary, since a native
 * application can't choose it beforehand (RFC 8252 §7.3); `localhost` is a name and has no such freedom.
 */
export function sameRedirectUri(registered: string, asked: string): boolean {
  if (registered === asked) return true
  const [known, url] = [URL.parse(registered), URL.parse(asked)]
  if (known === null || url === null || known.protocol !== 'http:' || !loopbackHosts.has(known.hostname)) return false
  return faultOfRedirectUri(asked) === undefined && withoutPort(registered) === withoutPort(asked)
}

function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/, '$1')
}

/** Whether applications on other people's machines answer there: nobody can tell who they are (RFC 8252 §8.6). */
export function isNativeRedirect(uri: string): boolean {
  const url = URL.parse(uri)
  return url === null || (url.protocol !== 'https:' && url.protocol !== 'http:') || isLocal(url)
}

/** The origin of a web address, for CORS and CSP; a scheme of an application's own stands for itself. */
export function originOf(uri: string): string {
  const url = URL.parse(uri)
  if (url === null) return "'none'"
  return url.origin === 'null' ? url.protocol : url.origin
}
