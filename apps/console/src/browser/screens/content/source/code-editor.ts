import { autocompletion, type CompletionContext, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, setDiagnostics } from '@codemirror/lint'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, keymap, lineNumbers } from '@codemirror/view'
import { classHighlighter } from '@lezer/highlight'
import { liquidLanguage } from './liquid-language.ts'

/** A fault at a place of the text. */
export interface PlacedFault {
  readonly line?: number
  readonly column?: number
  readonly message: string
}

/** What the editor begins with. */
export interface CodeEditorOptions {
  readonly parent: HTMLElement
  readonly text: string
  readonly label: string
  /** Of the style elements that it writes. */
  readonly nonce: string
  /** Where the cursor was in the field that it replaces. */
  readonly cursor: number
  /** Whether that field has the focus. */
  readonly isFocused: boolean
  readonly onChange: (text: string) => void
  /** What is offered behind `{{`. */
  readonly variables: () => readonly string[]
}

/** An editor of Liquid. */
export interface CodeEditor {
  setText(text: string): void
  setFaults(faults: readonly PlacedFault[]): void
  /** To be called once it is visible: takes the focus over. */
  show(): void
  /** Moves the cursor to a line and a column, from 1. */
  goTo(position: { readonly line: number; readonly column: number }): void
  destroy(): void
}

/** Opens the editor. Tab leaves it, so that nobody is caught in it. */
export function openCodeEditor(options: CodeEditorOptions): CodeEditor {
  const { parent, text, cursor, isFocused } = options
  const state = EditorState.create({
    doc: text,
    selection: { anchor: Math.min(cursor, text.replaceAll('\r\n', '\n').length) },
    extensions: extensionsOf(options),
  })
  const view = new EditorView({ state, parent })
  return {
    show() {
      view.requestMeasure()
      if (isFocused) view.focus()
    },
    setText(next) {
      const current = view.state.doc.toString()
      if (next !== current) view.dispatch({ changes: { from: 0, to: current.length, insert: next } })
    },
    setFaults: (faults) =>
      view.dispatch(
        setDiagnostics(
          view.state,
          faults.map((fault) => diagnosticOf(view.state, fault)),
        ),
      ),
    goTo({ line, column }) {
      view.dispatch({ selection: { anchor: positionOf(view.state, line, column) }, scrollIntoView: true })
      view.focus()
    },
    destroy: () => view.destroy(),
  }
}

function extensionsOf({ label, nonce, onChange, variables }: CodeEditorOptions): Extension[] {
  return [
    EditorView.cspNonce.of(nonce),
    EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'true' }),
    EditorView.lineWrapping,
    lineNumbers(),
    history(),
    bracketMatching(),
    liquidLanguage,
    syntaxHighlighting(classHighlighter),
    autocompletion({ override: [(context) => completeVariable(context, variables())] }),
    keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) onChange(state.doc.toString())
    }),
  ]
}

function positionOf({ doc }: EditorState, line: number, column: number): number {
  const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines))
  return Math.min(from + column - 1, to)
}

function diagnosticOf(state: EditorState, { line = 1, column = 1, message }: PlacedFault): Diagnostic {
  const from = positionOf(state, line, column)
  const { to, text } = state.doc.lineAt(from)
  const end = /[%}]\}/.exec(text.slice(from - (to - text.length)))
  return { from, to: end === null ? to : from + end.index + 2, severity: 'error', message }
}

/** Names of the data behind `{{` or within a tag. */
function completeVariable(context: CompletionContext, variables: readonly string[]) {
  const found = context.matchBefore(/\{[{%][^{}%]*?([\w.]*)$/)
  if (found === null) return null
  const word = /[\w.]*$/.exec(found.text)?.[0] ?? ''
  return { from: found.to - word.length, options: variables.map((label) => ({ label, type: 'variable' })) }
}
