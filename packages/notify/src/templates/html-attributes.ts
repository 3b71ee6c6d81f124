import { execFrom } from './exec-from.ts'

/** An attribute of an HTML text, with entities as they are written. */
export interface HtmlAttribute {
  /** Of its tag, in lower case. */
  readonly tag: string
  /** In lower case. */
  readonly name: string
  readonly value: string
}

/** What stands in place of a value, as it is written between double quotes; undefined leaves the attribute as it is. */
export type AttributeReplacement = (attribute: HtmlAttribute) => string | undefined

/** Where a comment, a tag (with a slash where it is an end tag), or what ends at the next `>` whatever is in it begins. */
const opening = /<(?:(!--)|(\/?)([a-z][^\t\n\f\r />]*)|[!?/])/gi
const commentEnd = /^-?>|--!?>/
/** Its first character may be anything, as a quote or `=`; a last value may lack its quote. */
const attribute =
  /([\t\n\f\r /]*)([^\t\n\f\r />][^\t\n\f\r />=]*)(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"?|'([^']*)'?|([^\t\n\f\r >"'][^\t\n\f\r >]*))?)?/y
/** Elements whose content has no tags. */
const textElements: ReadonlySet<string> = new Set('iframe noembed noframes script style textarea title xmp'.split(' '))

/**
 * Replaces values of attributes, where browsers find attributes (the tokenization of the HTML standard): data in a value
 * never reads as an attribute, nor does a quote out of place hide one. Tags in comments and in elements of mere text count
 * too, each by itself, since some mail clients show them. Takes time linear in the length of the text.
 */
export function replaceAttributes(html: string, replacement: AttributeReplacement): string {
  return replaceIn(html, replacement, false)
}

function replaceIn(html: string, replacement: AttributeReplacement, isInner: boolean): string {
  let result = ''
  let at = 0
  const copyTo = (end: number) => {
    result += html.slice(at, end)
    at = end
  }
  const replaceTo = (end: RegExp) => {
    const length = html.slice(at).search(end)
    const inner = html.slice(at, length < 0 ? undefined : at + length)
    result += replaceIn(inner, replacement, true)
    at += inner.length
  }
  const replaceAttributesOf = (tag: string) => {
    for (let found = execFrom(attribute, html, at); found; found = execFrom(attribute, html, at)) {
      const [whole, before, name = '', double, single, bare] = found
      const value = double ?? single ?? bare
      const replaced = value === undefined ? undefined : replacement({ tag, name: name.toLowerCase(), value })
      result += replaced === undefined ? whole : `${before}${name}="${replaced}"`
      at += whole.length
    }
  }
  for (let found = execFrom(opening, html, at); found; found = execFrom(opening, html, at)) {
    const [whole, isComment, slash, written] = found
    const tag = written?.toLowerCase()
    copyTo(found.index + whole.length)
    if (tag !== undefined) {
      replaceAttributesOf(tag)
      if (!isInner && slash === '' && textElements.has(tag)) replaceTo(endTagOf(tag))
    } else if (isComment === undefined) {
      const end = html.indexOf('>', at)
      copyTo(end < 0 ? html.length : end)
    } else if (!isInner) replaceTo(commentEnd)
  }
  return result + html.slice(at)
}

function endTagOf(tag: string): RegExp {
  return new RegExp(`</${tag}(?![^\\t\\n\\f\\r />])`, 'i')
}
