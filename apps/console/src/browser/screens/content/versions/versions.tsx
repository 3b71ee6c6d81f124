import type { TemplateTextSummary } from '@gatehouse/client'
import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import type { InputOf } from '../../../../actions/index.ts'
import { usePages, useRead } from '../../../api/queries.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Answer, Empty } from '../../../parts/states.tsx'
import { List } from '../../../parts/table.tsx'
import { State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { draftOf, type Place, textOf } from '../editor/draft.ts'
import type { DraftState } from '../editor/use-draft.ts'
import { DifferenceView } from './difference-view.tsx'

interface VersionsProps {
  readonly place: Place
  readonly state: DraftState
  readonly readOnly: boolean
}

/** The versions of a text: who wrote them and why, how each differs from the editor, and the way back to one. */
export function Versions({ place, state, readOnly }: VersionsProps) {
  const t = useTexts()
  const query = usePages('listVersions', { ...place, summary: true, limit: 20 } as InputOf<'listVersions'>)
  const [compared, compare] = useState<number>()
  const [chosen, choose] = useState<number>()
  if (state.source.text === undefined) return null
  return (
    <Stack component="section" gap="sm">
      <Title order={2}>{t.editor.versions}</Title>
      <List
        action="listVersions"
        query={query}
        label={t.editor.versions}
        keyOf={({ version }) => String(version)}
        empty={<Empty text={t.editor.isNew} />}
        columns={[
          { label: t.editor.version, render: (text) => <VersionCell text={text} /> },
          { label: t.templates.changed, render: (text) => <Time at={text.created_at} /> },
          { label: t.editor.author, render: (text) => text.created_by ?? t.templates.ofFile },
          { label: t.editor.comment, render: (text) => text.comment },
          {
            label: t.common.actions,
            isAction: true,
            render: (text) => (
              <>
                <VersionActions text={text} readOnly={readOnly} onCompare={compare} onPublish={choose} />
                {text.published && !readOnly && <Withdraw place={place} onDone={state.reload} />}
              </>
            ),
          },
        ]}
      />
      {compared !== undefined && (
        <Comparison
          place={place}
          state={state}
          version={compared}
          readOnly={readOnly}
          close={() => compare(undefined)}
        />
      )}
      <Dialog title={t.editor.rollBackTitle(chosen ?? 0)} open={chosen !== undefined} close={() => choose(undefined)}>
        <Stack>
          <Text>{t.editor.rollBackText}</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => choose(undefined)}>
              {t.common.cancel}
            </Button>
            <Button
              data-autofocus
              onClick={() => {
                if (chosen !== undefined) state.publishVersion(chosen)
                choose(undefined)
              }}
            >
              {t.editor.publish}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </Stack>
  )
}

function VersionCell({ text: { version, published } }: { text: TemplateTextSummary }) {
  const t = useTexts()
  return (
    <Group gap="xs">
      <strong>{version}</strong>
      {published && <State tone="good">{t.editor.inUse}</State>}
    </Group>
  )
}

/** Takes the text out of use: people get that of another language, or nothing. */
function Withdraw({ place, onDone }: { place: Place; onDone: () => void }) {
  const t = useTexts()
  return (
    <Act
      action="withdrawText"
      input={place}
      label={t.editor.withdraw}
      text={t.editor.withdrawText}
      done={t.editor.withdrawn}
      onDone={onDone}
    />
  )
}

interface VersionActionsProps {
  readonly text: TemplateTextSummary
  readonly readOnly: boolean
  readonly onCompare: (version: number) => void
  readonly onPublish: (version: number) => void
}

function VersionActions({ text: { version, published }, readOnly, onCompare, onPublish }: VersionActionsProps) {
  const t = useTexts()
  const about = (label: string) => `${label}: ${t.editor.version} ${version}`
  return (
    <>
      <Button size="xs" variant="default" onClick={() => onCompare(version)} aria-label={about(t.editor.compare)}>
        {t.editor.compare}
      </Button>
      {!readOnly && !published && (
        <Button size="xs" variant="default" onClick={() => onPublish(version)} aria-label={about(t.editor.publish)}>
          {t.editor.publish}
        </Button>
      )}
    </>
  )
}

interface ComparisonProps {
  readonly place: Place
  readonly state: DraftState
  readonly version: number
  readonly readOnly: boolean
  readonly close: () => void
}

/** How a version differs from what is in the editor. */
function Comparison({ place, state, version, readOnly, close }: ComparisonProps) {
  const t = useTexts()
  const query = useRead('readVersion', { ...place, version })
  return (
    <Dialog title={t.editor.compareTitle(version)} open close={close} size="xl">
      <Answer action="readVersion" query={query}>
        {(text) => (
          <Stack>
            <DifferenceView
              label={t.editor.difference}
              from={textOf(draftOf(text), place.channel)}
              to={textOf(state.draft, place.channel)}
            />
            {!readOnly && (
              <Group justify="flex-end">
                <Button
                  variant="default"
                  onClick={() => {
                    state.change(draftOf(text))
                    close()
                  }}
                >
                  {t.editor.useWords}
                </Button>
              </Group>
            )}
          </Stack>
        )}
      </Answer>
    </Dialog>
  )
}
