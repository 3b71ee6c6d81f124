import type { TemplateText } from './template.ts'
import { replaceLinks } from './text-links.ts'

/**
 * The hosts of the http(s) addresses in texts of a template, as URL.host writes them: what their author links to. A host
 * that a variable is part of is none of them.
 */
export function linkHostsOf(texts: ReadonlyArray<Pick<TemplateText, 'subject' | 'body' | 'html'>>): Set<string> {
  const hosts = new Set<string>()
  for (const part of texts.flatMap(({ subject, body, html }) => [subject, body, html]))
    replaceLinks(part ?? '', (target) => {
      hosts.add(new URL(target).host)
      return undefined
    })
  return hosts
}

/** The hosts that are tracked whatever a template says: that of the base URL, and those of the settings. */
export function ownHosts(baseUrl: string, trackedHosts: readonly string[]): Set<string> {
  const addresses = [baseUrl, ...trackedHosts.map((host) => `https://${host}`)]
  return new Set(addresses.flatMap((address) => URL.parse(address)?.host ?? []))
}
