import { type EventType, NotFoundError, PreconditionFailedError, ValidationError } from '@gatehouse/client'
import { Alert, Button, Group, Stack, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useMay } from '../../api/session.tsx'
import { readVersioned, useChange, useVersioned, type Versioned } from '../../api/versioned.ts'
import { isSameForm, useKeeping, useKept } from '../../forms/keeping.ts'
import { tagOfKept } from '../../forms/kept-state.ts'
import { Act } from '../../parts/changes/act.tsx'
import { LeaveGuard } from '../../parts/changes/leave-guard.tsx'
import { Refusal } from '../../parts/changes/refusal.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Page } from '../../parts/page.tsx'
import { Answer } from '../../parts/states.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { describeEffects } from './effects.ts'
import { EventTypeFields } from './event-type-fields.tsx'
import { type EventTypeForm, faultsByField, formOf, settingsOf } from './event-type-form.ts'
import { EventTypeSimulation } from './simulation/simulation.tsx'
import { DifferenceView } from './versions/difference-view.tsx'

/** One event type, or the form of one that is not there yet. */
export function EventTypeScreen() {
  const t = useTexts()
  const { event } = useParams({ strict: false }) as { event: string }
  const query = useVersioned('readEventType', { event })
  const isNew = query.error instanceof NotFoundError
  const stored = query.data?.value
  return (
    <Page
      title={event}
      lead={isNew ? t.eventTypes.isNew : t.eventTypes.formLead}
      actions={stored === undefined ? undefined : <Actions eventType={stored} />}
    >
      {/* One place for both: a form that makes the event type goes on as the form of it. */}
      {isNew || query.data !== undefined ? (
        <EditEventType key={event} event={event} first={query.data} />
      ) : (
        <Answer action="readEventType" query={query}>
          {() => null}
        </Answer>
      )}
    </Page>
  )
}

function Actions({ eventType: { event, template_id: id = event, reserved } }: { eventType: EventType }) {
  const t = useTexts()
  const navigate = useNavigate()
  return (
    <>
      <Button
        size="xs"
        variant="default"
        renderRoot={(props) => <Link to="/templates" search={{ q: id }} {...props} />}
      >
        {t.eventTypes.seeTexts}
      </Button>
      {reserved !== true && (
        <Act
          action="deleteEventType"
          input={{ event }}
          label={t.eventTypes.remove}
          text={t.eventTypes.removeText}
          word={event}
          done={t.eventTypes.removed}
          onDone={() => void navigate({ to: '/event-types' })}
        />
      )}
    </>
  )
}

type Stored = Versioned<EventType> | undefined

/** The form, what it does in words, and what happens when somebody else changed the event type meanwhile. */
function EditEventType({ event, first }: { event: string; first: Stored }) {
  const t = useTexts()
  const may = useMay()
  const name = `event type ${event}`
  const kept = useKept<{ form: EventTypeForm }>(name)
  const [form, change] = useState(kept?.values.form ?? formOf(first?.value))
  const [base, setBase] = useState(first)
  // A form that comes back from a sign-in was made from what was stored before it.
  const [etag, setTag] = useState(kept === undefined ? first?.etag : tagOfKept(kept.etag ?? '', first?.etag))
  const [theirs, setTheirs] = useState<Stored>()
  const saving = useChange('saveEventType')
  const isChanged = !isSameForm(form, formOf(base?.value))
  useKeeping(name, () => (isChanged ? { values: { form }, etag: etag ?? '' } : undefined))
  const readOnly = !may('saveEventType') || base?.value.reserved === true
  const takeOver = (stored: Stored) => {
    setBase(stored)
    setTag(stored?.etag)
    setTheirs(undefined)
  }
  const save = (ifMatch: string | undefined) =>
    saving.mutate(
      { input: { event, ...settingsOf(form) }, ifMatch },
      {
        onSuccess: (saved) => {
          takeOver(saved)
          // What was typed meanwhile stays.
          change((now) => (now === form ? formOf(saved.value) : now))
          notifications.show({ message: t.eventTypes.saved, color: 'green' })
        },
        onError: async (error) => {
          if (error instanceof PreconditionFailedError) setTheirs(await readVersioned('readEventType', { event }))
        },
      },
    )
  const faults = saving.error instanceof ValidationError ? faultsByField(saving.error.problem.errors) : {}
  return (
    <>
      <form
        onSubmit={(submitted) => {
          submitted.preventDefault()
          save(etag)
        }}
      >
        <div className="editor-columns">
          <Stack gap="md" className="panel">
            {base?.value.reserved === true && <Alert>{t.templates.reservedText}</Alert>}
            <EventTypeFields event={event} form={form} change={change} faults={faults} readOnly={readOnly} />
            {theirs === undefined && <Refusal error={saving.error} />}
            {!readOnly && (
              <Group>
                <Button type="submit" loading={saving.isPending}>
                  {t.eventTypes.save}
                </Button>
              </Group>
            )}
          </Stack>
          <Effects form={form} />
        </div>
        <LeaveGuard isChanged={() => isChanged && !readOnly} />
        <Conflict
          mine={form}
          theirs={theirs}
          close={() => setTheirs(undefined)}
          take={() => {
            takeOver(theirs)
            change(formOf(theirs?.value))
          }}
          keep={() => save(theirs?.etag)}
        />
      </form>
      <EventTypeSimulation event={event} form={form} />
    </>
  )
}

function Effects({ form }: { form: EventTypeForm }) {
  const t = useTexts()
  return (
    <Stack component="section" className="panel editor-side" gap="xs" aria-live="polite">
      <Title order={2}>{t.effects.title}</Title>
      <ul className="effects">
        {describeEffects(form, t).map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
      </ul>
    </Stack>
  )
}

interface ConflictProps {
  readonly mine: EventTypeForm
  readonly theirs: Stored
  readonly close: () => void
  readonly take: () => void
  readonly keep: () => void
}

function Conflict({ mine, theirs, close, take, keep }: ConflictProps) {
  const t = useTexts()
  const json = (form: EventTypeForm) => JSON.stringify(settingsOf(form), null, 2)
  return (
    <Dialog title={t.editor.conflict} open={theirs !== undefined} close={close} size="xl">
      <Stack>
        <p>{t.eventTypes.conflictText}</p>
        <DifferenceView label={t.editor.difference} from={json(formOf(theirs?.value))} to={json(mine)} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t.editor.goOn}
          </Button>
          <Button variant="default" onClick={take}>
            {t.editor.takeTheirs}
          </Button>
          <Button onClick={keep}>{t.editor.keepMine}</Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
