const loopbackHosts = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** Schemes that execute their content, open files, or belong to a browser, a mail program or an operating system. */
const dangerousSchemes = new Set(
  [
    ...['javascript', 'data', 'vbscript', 'livescript', 'mocha', 'jscript', 'file', 'filesystem', 'blob', 'about'],
    ...['view-source', 'jar', 'mhtml', 'mk', 'res', 'resource', 'chrome', 'chrome-extension', 'moz-extension', 'edge'],
    ...['safari-extension', 'safari-web-extension', 'opera', 'brave', 'vivaldi', 'wyciwyg', 'feed', 'intent'],
    ...['ws', 'wss', 'ftp', 'ftps', 'sftp', 'ssh', 'telnet', 'gopher', 'ldap', 'ldaps', 'smb', 'nfs', 'dict', 'jdbc'],
    ...['mailto', 'tel', 'sms', 'smsto', 'mms', 'callto', 'facetime', 'geo', 'market', 'urn', 'cid', 'mid', 'shell'],
    ...['search-ms', 'search', 'hcp', 'help', 'apt', 'steam', 'itms', 'itms-apps', 'itms-services', 'content'],
  ].map((scheme) => `${scheme}:`),
)
/** Microsoft's own, some of which run programs. */
const systemScheme = /^ms-/
const reversedDomain = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/

/**
 * Why `uri` can't be registered as an address to send browsers to, or undefined when it can: an absolute URI without
 * fragment, user, wildcard, dot segments or encoded slashes; https, http on this machine alone, or an application's own
 * scheme, a reversed domain name (RFC 6749 §3.1.2, RFC 8252 §7, OAuth 2.1 §2.3).
 *
 * @param dotless whether the scheme may be any other word too, which any other application may take as well
 */
export function checkRedirectUri(uri: string, dotless: boolean = false): string | undefined {
  const url = URL.parse(uri)
  if (url === null || /[\s\\\u0000-\u001f\u007f]/.test(uri)) return 'must be an absolute URI'
  if (uri.includes('#')) return 'must not have a fragment'
  if (url.username !== '' || url.password !== '' || /^[a-z][a-z0-9+.-]*:\/\/[^/?]*@/i.test(uri))
    return 'must not contain a user name or password'
  if (uri.includes('*')) return 'must not contain a wildcard'
  if (
    /(^|\/)(\.|%2e){1,2}(\/|$|\?)/i.test(uri.replace(/^[^:]+:\/\//, '')) ||
    /%2f|%5c/i.test(uri.split('?', 1)[0] ?? '')
  ) {
    return 'must not contain dot segments or encoded slashes'
  }
  if (dangerousSchemes.has(url.protocol) || systemScheme.test(url.protocol))
    return `must not use the scheme ${url.protocol}`
  if (url.protocol === 'https:') return undefined
  if (url.protocol === 'http:') return isLocal(url) ? undefined : 'must use https, except on localhost'
  if (dotless || reversedDomain.test(url.protocol)) return undefined
  return 'must use https or a reversed domain name such as com.example.app as its scheme (any other needs allow_dotless_redirect_schemes)'
}

function isLocal(url: URL): boolean {
  return loopbackHosts.has(url.hostname)
}

/**
 * Whether `requested` matches `registered`, character by character. For a public client the port of a loopback address
 * may vary, since a native application can't choose it in advance (RFC 8252 §7.3); the three loopback hosts are
 * distinct.
 */
export function matchesRedirectUri(registered: string, requested: string, anyPort: boolean): boolean {
  if (registered === requested) return true
  return anyPort && checkRedirectUri(requested) === undefined && withoutPort(registered) === withoutPort(requested)
}

/** A loopback address with its port taken out; anything else as it is. */
function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d{1,5}(?=[/?]|$)/, '$1')
}

/** Whether the URI leads to an application on the user's device, whose identity can't be verified (RFC 8252 §8.6). */
export function isNativeRedirect(uri: string): boolean {
  const url = URL.parse(uri)
  return url === null || (url.protocol !== 'https:' && url.protocol !== 'http:') || isLocal(url)
}

/**
 * Whether only the holder of a name can receive what is sent there: a web page, or an application that claimed the link
 * (RFC 8252 §7.2). Any application can register a scheme, and any on the device can listen on loopback.
 */
export function hasVerifiedHost(uri: string): boolean {
  return uri.startsWith('https://') && !isNativeRedirect(uri)
}

/** The origin of a web address, for CORS and CSP; a scheme of an application's own stands for itself. */
export function originOf(uri: string): string {
  const url = URL.parse(uri)
  if (url === null) return "'none'"
  return url.origin === 'null' ? url.protocol : url.origin
}
