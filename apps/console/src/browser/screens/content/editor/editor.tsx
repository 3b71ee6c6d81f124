import type { TemplatePreview } from '@gatehouse/client'
import { Alert, Stack } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useState } from 'react'
import { useRead } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { LeaveGuard } from '../../../parts/changes/leave-guard.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Failed } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { Previews } from '../preview/previews.tsx'
import { SampleData } from '../samples/sample-data.tsx'
import { type SampleState, useSampleState } from '../samples/use-samples.ts'
import { Versions } from '../versions/versions.tsx'
import { EditorBar } from './bar.tsx'
import { ConflictDialog } from './conflict.tsx'
import { type Draft, type Place, previewInput } from './draft.ts'
import { PartFields } from './part-fields.tsx'
import { type DraftState, useDraft } from './use-draft.ts'
import type { Source } from './use-source.ts'

interface TextEditorProps {
  readonly place: Place
  readonly source: Source
  /** The locales that the template has texts for. */
  readonly locales: readonly string[]
}

/** The words of a text beside what people get of them, from the same data for every text of the template. */
export function TextEditor({ place, source, locales }: TextEditorProps) {
  const t = useTexts()
  const may = useMay()
  const state = useDraft(place, source)
  const samples = useSampleState(place.template_id)
  const { query, shown } = usePreview(place, state.draft, samples, locales)
  const isReserved = state.source.text?.reserved === true
  const readOnly = isReserved || !may('saveText')
  return (
    <Stack gap="lg">
      {isReserved && <Alert>{t.templates.reservedText}</Alert>}
      <EditorBar place={place} state={state} samples={samples} readOnly={readOnly} isFaulty={hasFaults(shown)} />
      {state.conflict === undefined && <Refusal error={state.error} />}
      <div className="editor-columns">
        <EditorColumn
          place={place}
          state={state}
          samples={samples}
          shown={shown}
          unused={query.data?.unused ?? []}
          readOnly={readOnly}
        />
        <Stack gap="lg" className="editor-side">
          {query.error !== null && query.data === undefined ? (
            <Failed action="previewTemplate" error={query.error} retry={query.refetch} />
          ) : (
            <Previews place={place} items={query.data?.items ?? []} />
          )}
        </Stack>
      </div>
      <Versions place={place} state={state} readOnly={readOnly} />
      <ConflictDialog place={place} state={state} />
      <LeaveGuard isChanged={() => state.isChanged && !readOnly} />
    </Stack>
  )
}

interface EditorColumnProps {
  readonly place: Place
  readonly state: DraftState
  readonly samples: SampleState
  readonly shown: TemplatePreview | undefined
  readonly unused: readonly string[]
  readonly readOnly: boolean
}

function EditorColumn({ place, state, samples, shown, unused, readOnly }: EditorColumnProps) {
  const [last, setLast] = useState(shown)
  // A text that is at fault names no variables: those from before it stay.
  if (shown !== undefined && shown.faults.length === 0 && shown !== last) setLast(shown)
  const { variables = [], missing = [] } = last ?? {}
  return (
    <Stack gap="lg">
      <PartFields
        channel={place.channel}
        draft={state.draft}
        change={state.change}
        faults={shown?.faults ?? []}
        variables={[...new Set([...variables, ...Object.keys(samples.data ?? {})])]}
        readOnly={readOnly}
      />
      <SampleData samples={samples} variables={variables} missing={missing} unused={unused} />
    </Stack>
  )
}

const typingPauseMs = 300

/** What people get of the draft and of the other texts, a moment after the last key. */
function usePreview(place: Place, draft: Draft, { data }: SampleState, locales: readonly string[]) {
  const [input] = useDebouncedValue(previewInput(place, draft, data ?? {}, locales), typingPauseMs)
  const query = useRead('previewTemplate', input, data !== undefined)
  const shown = query.data?.items.find(
    (item) => item.channel === place.channel && item.requested_locale === place.locale,
  )
  return { query, shown }
}

function hasFaults(shown: TemplatePreview | undefined): boolean {
  return (shown?.faults.length ?? 0) > 0
}
