import { Alert, Button, Group, NativeSelect, Stack, Textarea, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import { useMay } from '../../../api/session.tsx'
import { findJsonFault } from '../../../forms/json-fault.ts'
import { useJsonWords } from '../../../forms/use-json-words.ts'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { fillData } from '../editor/draft.ts'
import type { SampleState } from './use-samples.ts'

interface SampleDataProps {
  readonly samples: SampleState
  readonly variables: readonly string[]
  readonly missing: readonly string[]
  readonly unused: readonly string[]
}

/** The data of the previews, and how it fits the variables of the text. */
export function SampleData({ samples, variables, missing, unused }: SampleDataProps) {
  const t = useTexts()
  const { text, data, setText } = samples
  const jsonWords = useJsonWords()
  return (
    <Stack component="section" className="panel" gap="sm">
      <Title order={2}>{t.editor.data}</Title>
      <SampleSelect samples={samples} />
      <Textarea
        label={t.editor.json}
        description={t.editor.jsonHelp}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        autosize
        minRows={4}
        maxRows={14}
        error={data === undefined ? jsonWords(findJsonFault(text)) : undefined}
        classNames={{ input: 'source' }}
      />
      <Group gap={6} aria-live="polite">
        {variables.map((name) => (
          <State key={name} tone={missing.includes(name) ? 'bad' : 'good'}>
            {missing.includes(name) ? t.editor.missing(name) : name}
          </State>
        ))}
        {unused.map((name) => (
          <State key={name} tone="careful">
            {t.editor.unused(name)}
          </State>
        ))}
        {variables.length + unused.length === 0 && <span className="dim">{t.editor.noVariables}</span>}
      </Group>
      {missing.length > 0 && data !== undefined && (
        <Group>
          <Button size="xs" variant="default" onClick={() => setText(JSON.stringify(fillData(data, missing), null, 2))}>
            {t.editor.fill}
          </Button>
        </Group>
      )}
      {samples.isOutdated ? (
        <Alert color="yellow" role="alert">
          {t.editor.samplesOutdated}
        </Alert>
      ) : (
        <Refusal error={samples.error} />
      )}
    </Stack>
  )
}

/** The samples that are kept, and the way to keep another. */
function SampleSelect({ samples: { samples, data, setText, keep, remove, isBusy } }: { samples: SampleState }) {
  const t = useTexts()
  const may = useMay()
  const [chosen, choose] = useState('')
  const [name, setName] = useState('')
  const known = samples.map((sample) => sample.name)
  const select = (next: string) => {
    choose(next)
    setName(next)
    const sample = samples.find((each) => each.name === next)
    if (sample !== undefined) setText(JSON.stringify(sample.data, null, 2))
  }
  return (
    <Group align="flex-end" gap="xs">
      {known.length > 0 && (
        <NativeSelect
          size="xs"
          label={t.editor.sample}
          value={known.includes(chosen) ? chosen : ''}
          onChange={({ currentTarget }) => select(currentTarget.value)}
          data={[{ value: '', label: t.editor.chooseSample }, ...known]}
        />
      )}
      {may('saveSamples') && (
        <>
          <TextInput
            size="xs"
            label={t.editor.sampleName}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            maxLength={100}
            w={150}
          />
          <Button
            size="xs"
            variant="default"
            disabled={name.trim() === '' || data === undefined}
            loading={isBusy}
            onClick={() => keep(name.trim())}
          >
            {t.editor.keepSample}
          </Button>
          {known.includes(chosen) && (
            <Button size="xs" variant="default" loading={isBusy} onClick={() => remove(chosen)}>
              {t.editor.removeSample}
            </Button>
          )}
        </>
      )}
    </Group>
  )
}
