import { replaceAttributes } from './html-attributes.ts'

const linkNames: ReadonlySet<string> = new Set(['href', 'xlink:href', 'src', 'action', 'formaction'])

/** An HTML text whose links that lead anywhere but to http, https and mailto are emptied. */
export function safeLinks(html: string): string {
  return replaceAttributes(html, ({ name, value }) => (linkNames.has(name) && !isSafe(value) ? '#' : undefined))
}

function isSafe(value: string): boolean {
  const target = value.replace(/[\u0000-\u0020]+|&(tab|newline|nbsp);?/gi, '')
  return /^(https?:|mailto:|#|\/)/i.test(target)
}
