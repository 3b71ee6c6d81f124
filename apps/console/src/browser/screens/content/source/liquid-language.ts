import { StreamLanguage, type StringStream } from '@codemirror/language'

/** Where the reader of a text is: between, in an output, in a tag, in an element of HTML, or in a comment of either. */
interface LiquidState {
  within: 'text' | 'output' | 'tag' | 'element' | 'comment' | 'html-comment'
  /** Whether the next word in a tag is its name. */
  isName: boolean
  /** Whether an output began within an element, which goes on behind it. */
  isInElement: boolean
}

const keywords = /^(?:and|or|contains|in|by|true|false|nil|null|empty|blank|with|as|reversed|limit|offset)$/

/**
 * Liquid in text and HTML, for its colours alone. The grammar of CodeMirror brings those of HTML, CSS and JavaScript with
 * it, and is larger than all of the editor may be.
 */
export const liquidLanguage = StreamLanguage.define<LiquidState>({
  name: 'liquid',
  startState: () => ({ within: 'text', isName: false, isInElement: false }),
  token(stream, state) {
    if (state.within === 'output' || state.within === 'tag') return readLiquid(stream, state)
    if (state.within === 'comment') return readUntil(stream, state, /\{%-?\s*endcomment\s*-?%\}/)
    if (state.within === 'html-comment') return readUntil(stream, state, /-->/)
    if (stream.match(/^\{%-?\s*comment\s*-?%\}/)) return enter(state, 'comment', 'comment')
    if (stream.match(/^\{\{-?/)) return enterLiquid(state, 'output')
    if (stream.match(/^\{%-?/)) return enterLiquid(state, 'tag')
    if (state.within === 'element') return readElement(stream, state)
    if (stream.match('<!--')) return enter(state, 'html-comment', 'comment')
    if (stream.match(/^<\/?[A-Za-z][\w-]*/)) return enter(state, 'element', 'typeName')
    stream.next()
    stream.match(/^[^{<]+/)
    return null
  },
})

function enter(state: LiquidState, within: LiquidState['within'], token: string): string {
  state.within = within
  return token
}

function enterLiquid(state: LiquidState, within: 'output' | 'tag'): string {
  state.isInElement = state.within === 'element'
  state.isName = within === 'tag'
  return enter(state, within, 'keyword')
}

function readLiquid(stream: StringStream, state: LiquidState): string | null {
  if (stream.match(/^-?[%}]\}/)) return enter(state, state.isInElement ? 'element' : 'text', 'keyword')
  if (stream.match(/^"[^"]*"?|^'[^']*'?/)) return 'string'
  if (stream.match(/^\d+(?:\.\d+)?/)) return 'number'
  if (stream.match(/^\|\s*[\w-]+/)) return 'labelName'
  const [word] = (stream.match(/^[A-Za-z_][\w.-]*/) as RegExpMatchArray | null) ?? []
  if (word === undefined) {
    stream.next()
    return null
  }
  const isName = state.isName
  state.isName = false
  return isName || keywords.test(word) ? 'keyword' : 'variableName'
}

function readElement(stream: StringStream, state: LiquidState): string | null {
  if (stream.match(/^\/?>/)) return enter(state, 'text', 'typeName')
  if (stream.match(/^"[^"{]*"?|^'[^'{]*'?/)) return 'string'
  if (stream.match(/^[\w:@-]+/)) return 'propertyName'
  stream.next()
  return null
}

function readUntil(stream: StringStream, state: LiquidState, end: RegExp): string {
  if (stream.match(new RegExp(`^.*?(?:${end.source})`))) state.within = 'text'
  else stream.skipToEnd()
  return 'comment'
}
