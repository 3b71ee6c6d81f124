import { Button, Group, Text, TextInput } from '@mantine/core'
import { useMay, useSession } from '../../../api/session.tsx'
import { useKeptState } from '../../../forms/kept-state.ts'
import { State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import type { SampleState } from '../samples/use-samples.ts'
import type { Place } from './draft.ts'
import { type TestForm, TestSend } from './test-send.tsx'
import type { DraftState } from './use-draft.ts'

interface EditorBarProps {
  readonly place: Place
  readonly state: DraftState
  readonly samples: SampleState
  readonly readOnly: boolean
  readonly isFaulty: boolean
}

/** Which version this is, and what can be done with it. */
export function EditorBar({ place, state, samples, readOnly, isFaulty }: EditorBarProps) {
  const t = useTexts()
  const may = useMay()
  const { user } = useSession()
  const [test, changeTest] = useKeptState<TestForm>(`test of ${JSON.stringify(place)}`, { open: false, userId: user })
  const { source, isChanged, isBusy } = state
  const { text } = source
  const publish = () => (isChanged || text === undefined ? state.save(true) : state.publishVersion(text.version))
  return (
    <Group className="panel editor-bar" justify="space-between" gap="sm">
      <VersionState state={state} />
      {!readOnly && (
        <Group gap="xs" align="flex-end">
          <TextInput
            label={t.editor.comment}
            value={state.comment}
            onChange={({ currentTarget }) => state.setComment(currentTarget.value)}
            maxLength={500}
            size="xs"
            w={220}
          />
          <Button size="xs" variant="default" onClick={() => state.save(false)} disabled={!isChanged} loading={isBusy}>
            {t.editor.save}
          </Button>
          {may('testTemplate') && (
            <Button size="xs" variant="default" onClick={() => changeTest({ open: true })} disabled={isFaulty}>
              {t.editor.test}
            </Button>
          )}
          <Button
            size="xs"
            onClick={publish}
            disabled={isFaulty || (!isChanged && text?.published === true)}
            loading={isBusy}
          >
            {t.editor.publish}
          </Button>
        </Group>
      )}
      <TestSend place={place} state={state} samples={samples} form={test} change={changeTest} />
    </Group>
  )
}

function VersionState({ state: { source, isChanged } }: { state: DraftState }) {
  const t = useTexts()
  const { text } = source
  return (
    <Group gap="sm">
      {text === undefined ? (
        <State tone="neutral">{t.editor.isNew}</State>
      ) : (
        <State tone={text.published ? 'good' : 'careful'}>
          {text.published ? t.editor.versionPublished(text.version) : t.editor.versionDraft(text.version)}
        </State>
      )}
      {isChanged && <State tone="careful">{t.editor.changed}</State>}
      {text?.created_at !== undefined && (
        <Text size="sm" c="dimmed">
          <Time at={text.created_at} /> · {text.created_by ?? t.templates.ofFile}
        </Text>
      )}
    </Group>
  )
}
