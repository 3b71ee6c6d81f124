import type { TemplateFault } from '@gatehouse/client'
import { Button, Group, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useSettings, useTexts } from '../../../texts/settings.tsx'
import type { Channel } from '../matrix.ts'
import { SourceEditor, type TextPosition } from '../source/source-editor.tsx'
import { type Draft, type PartName, partsOf } from './draft.ts'

interface PartFieldsProps {
  readonly channel: Channel
  readonly draft: Draft
  readonly change: (draft: Draft) => void
  readonly faults: readonly TemplateFault[]
  readonly variables: readonly string[]
  readonly readOnly: boolean
}

/** The parts of a text, each with its fault and the way to it. */
export function PartFields({ channel, draft, change, faults, variables, readOnly }: PartFieldsProps) {
  const t = useTexts()
  const { settings, change: choose } = useSettings()
  const [target, setTarget] = useState<{ readonly part: PartName; readonly at: TextPosition }>()
  const general = faults.filter(({ part }) => part === undefined)
  return (
    <Stack className="panel" gap="md">
      {partsOf[channel].map((part) => {
        const own = faults.filter((fault) => fault.part === part)
        const common = {
          label: channel === 'email' && part === 'body' ? t.editor.mailText : t.editor.parts[part],
          value: draft[part],
          readOnly,
        }
        const set = (value: string) => change({ ...draft, [part]: value })
        return (
          <div key={part}>
            {part === 'subject' ? (
              <TextInput
                {...common}
                onChange={({ currentTarget }) => set(currentTarget.value)}
                error={own.length > 0}
                classNames={{ input: 'source' }}
              />
            ) : (
              <SourceEditor
                {...common}
                onChange={set}
                faults={own}
                variables={variables}
                target={target?.part === part ? target.at : undefined}
                minRows={part === 'html' ? 10 : 5}
              />
            )}
            <Faults faults={own} goTo={part === 'subject' ? undefined : (at) => setTarget({ part, at })} />
          </div>
        )
      })}
      <Faults faults={general} goTo={undefined} />
      {!readOnly && (
        <Switch
          size="xs"
          label={t.editor.usesEditor}
          checked={settings.editor === 'code'}
          onChange={({ currentTarget }) => choose({ editor: currentTarget.checked ? 'code' : 'plain' })}
        />
      )}
    </Stack>
  )
}

interface FaultsProps {
  readonly faults: readonly TemplateFault[]
  readonly goTo: ((at: TextPosition) => void) | undefined
}

/** What is wrong and where. It is announced, and each place can be gone to. */
function Faults({ faults, goTo }: FaultsProps) {
  const t = useTexts()
  return (
    <div aria-live="polite">
      {faults.map(({ line, column, message }) => (
        <Group key={`${line} ${column} ${message}`} gap="xs" mt={6}>
          <Text size="sm" className="fault">
            ✕ {line === undefined || column === undefined ? message : `${t.editor.at(line, column)}: ${message}`}
          </Text>
          {goTo !== undefined && line !== undefined && column !== undefined && (
            <Button size="compact-xs" variant="default" onClick={() => goTo({ line, column })}>
              {t.editor.goTo}
            </Button>
          )}
        </Group>
      ))}
    </div>
  )
}
