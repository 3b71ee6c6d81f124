import { Button, Group, Stack, Text } from '@mantine/core'
import { Dialog } from '../../../parts/dialog.tsx'
import { Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { DifferenceView } from '../versions/difference-view.tsx'
import { draftOf, type Place, textOf } from './draft.ts'
import type { DraftState } from './use-draft.ts'

/** Two people changed the text: what they made of it, what I did or put into use, and the difference. */
export function ConflictDialog({ place: { channel }, state }: { place: Place; state: DraftState }) {
  const t = useTexts()
  const { conflict, draft } = state
  const theirs = conflict?.theirs.text
  const version = conflict?.version
  const mine = version === undefined ? draft : draftOf(version)
  const named = version && `${t.editor.version} ${version.version}`
  return (
    <Dialog title={t.editor.conflict} open={conflict !== undefined} close={state.closeConflict} size="xl">
      <Stack>
        <Text>
          {theirs === undefined ? (
            t.editor.conflictGone
          ) : (
            <>
              {t.editor.conflictText(theirs.version, theirs.created_by ?? t.templates.ofFile)}{' '}
              <Time at={theirs.created_at} />
            </>
          )}
        </Text>
        {theirs?.comment !== undefined && <Text fs="italic">{theirs.comment}</Text>}
        <DifferenceView
          label={t.editor.difference}
          from={textOf(draftOf(theirs), channel)}
          to={textOf(mine, channel)}
        />
        <div className="changes">
          <Side title={t.editor.theirs} text={textOf(draftOf(theirs), channel)} />
          <Side title={named ?? t.editor.mine} text={textOf(mine, channel)} />
        </div>
        <Group justify="flex-end">
          <Button variant="default" onClick={state.closeConflict}>
            {t.editor.goOn}
          </Button>
          <Button variant="default" onClick={state.takeTheirs}>
            {t.editor.takeTheirs}
          </Button>
          <Button onClick={state.keepMine} loading={state.isBusy}>
            {named === undefined ? t.editor.keepMine : `${t.editor.publish}: ${named}`}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}

function Side({ title, text }: { title: string; text: string }) {
  return (
    <details>
      <summary>{title}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
      <section className="json" aria-label={title} tabIndex={0}>
        <pre>{text}</pre>
      </section>
    </details>
  )
}
