import { Input, Textarea } from '@mantine/core'
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useSettings } from '../../../texts/settings.tsx'
import type { CodeEditor, PlacedFault } from './code-editor.ts'

/** A place in a text, from 1. */
export interface TextPosition {
  readonly line: number
  readonly column: number
}

interface SourceEditorProps {
  readonly label: string
  readonly description?: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly readOnly: boolean
  readonly faults: readonly PlacedFault[]
  /** What is offered behind `{{`. */
  readonly variables: readonly string[]
  /** Where the cursor is to go; a new object moves it again. */
  readonly target: TextPosition | undefined
  readonly minRows: number
}

/** A field for Liquid. When it gets the focus, the editor is loaded and takes its place, unless the person wants none. */
export function SourceEditor(props: SourceEditorProps) {
  const { label, description, value, onChange, readOnly, target, minRows } = props
  const { settings } = useSettings()
  const [wanted, setWanted] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  const parent = useRef<HTMLDivElement>(null)
  const editor = useCodeEditor(props, wanted && !readOnly && settings.editor === 'code', { field, parent })
  useEffect(() => {
    if (target === undefined || editor !== undefined || field.current === null) return
    const at = offsetOf(field.current.value, target)
    field.current.focus()
    field.current.setSelectionRange(at, at)
  }, [target, editor])
  return (
    <>
      {editor === undefined && (
        <Textarea
          ref={field}
          label={label}
          description={description}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
          onFocus={() => setWanted(true)}
          readOnly={readOnly}
          autosize
          minRows={minRows}
          maxRows={24}
          spellCheck
          classNames={{ input: 'source' }}
        />
      )}
      <Input.Wrapper label={label} description={description} labelElement="div" hidden={editor === undefined}>
        <div ref={parent} className="code-editor" />
      </Input.Wrapper>
    </>
  )
}

interface Elements {
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly parent: RefObject<HTMLDivElement | null>
}

/** The editor once it is loaded, with what was typed until then. */
function useCodeEditor(props: SourceEditorProps, wanted: boolean, { field, parent }: Elements): CodeEditor | undefined {
  const { value, faults, target } = props
  const [editor, setEditor] = useState<CodeEditor>()
  const latest = useRef(props)
  latest.current = props
  useEffect(() => {
    if (!wanted) return
    let opened: CodeEditor | undefined
    let isGone = false
    void import('./code-editor.ts').then(({ openCodeEditor }) => {
      if (isGone || parent.current === null) return
      opened = openCodeEditor({
        parent: parent.current,
        text: latest.current.value,
        label: latest.current.label,
        nonce: document.getElementById('root')?.dataset.styleNonce ?? '',
        cursor: field.current?.selectionStart ?? 0,
        isFocused: document.activeElement === field.current,
        onChange: (text) => latest.current.onChange(text),
        variables: () => latest.current.variables,
      })
      setEditor(opened)
    })
    return () => {
      isGone = true
      opened?.destroy()
      setEditor(undefined)
    }
  }, [wanted, field, parent])
  // Before the browser handles another key, which would find neither the field nor the editor.
  useLayoutEffect(() => editor?.show(), [editor])
  useEffect(() => editor?.setText(value), [editor, value])
  useEffect(() => editor?.setFaults(faults), [editor, faults])
  useEffect(() => {
    if (target !== undefined) editor?.goTo(target)
  }, [editor, target])
  return editor
}

function offsetOf(text: string, { line, column }: TextPosition): number {
  const before = text.split('\n').slice(0, line - 1)
  return Math.min(before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1, text.length)
}
