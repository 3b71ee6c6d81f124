import { Button, Group, Stack, Text } from '@mantine/core'
import { Dialog } from '../../../parts/dialog.tsx'
import { Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { DifferenceView } from '../versions/difference-view.tsx'
import { draftOf, type Place, textOf } from './draft.ts'
import type { DraftState } from './use-draft.ts'

/** Two people changed the text: what they made of it, what I did, and the difference. */
export function ConflictDialog({ place: { channel }, state }: { place: Place; state: DraftState }) {
  const t = useTexts()
  const { conflict, draft } = state
  const theirs = conflict?.theirs.text
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
          to={textOf(draft, channel)}
        />
        <div className="changes">
          <Side title={t.editor.theirs} text={textOf(draftOf(theirs), channel)} />
          <Side title={t.editor.mine} text={textOf(draft, channel)} />
        </div>
        <Group justify="flex-end">
          <Button variant="default" onClick={state.closeConflict}>
            {t.editor.goOn}
          </Button>
          <Button variant="default" onClick={state.takeTheirs}>
            {t.editor.takeTheirs}
          </Button>
          <Button onClick={state.keepMine} loading={state.isBusy}>
            {t.editor.keepMine}
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
