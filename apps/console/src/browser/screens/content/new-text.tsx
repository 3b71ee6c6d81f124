import { Button, Checkbox, Group, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Dialog } from '../../parts/dialog.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { channels } from './matrix.ts'

interface NewTextProps {
  readonly open: boolean
  readonly close: () => void
  /** The template, when it is there already. */
  readonly template?: string
  /** The text of it, as `channel/locale`, that the new one may begin with. */
  readonly from?: string
}

/** Asks for the place of a new text, and opens the editor there. Nothing is stored until it is saved. */
export function NewText({ open, close, template, from }: NewTextProps) {
  const t = useTexts()
  const navigate = useNavigate()
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    close()
    const params = { id: template ?? text('template'), channel: text('channel'), locale: text('locale') }
    const search = from !== undefined && form.get('copy') === 'on' ? { from } : {}
    void navigate({ to: '/templates/$id/$channel/$locale', params, search })
  }
  return (
    <Dialog title={t.templates.create} open={open} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          submit(new FormData(event.currentTarget))
        }}
      >
        <Stack>
          {template === undefined && (
            <TextInput
              name="template"
              label={t.templates.template}
              description={t.templates.templateHelp}
              required
              maxLength={200}
              pattern="[^\/\\]+"
              data-autofocus
            />
          )}
          <NativeSelect
            name="channel"
            label={t.templates.channel}
            data={channels.map((value) => ({ value, label: t.channels[value] }))}
          />
          <TextInput
            name="locale"
            label={t.templates.locale}
            description={t.templates.localeHelp}
            defaultValue="en"
            required
            pattern="[A-Za-z]{2,3}([\-_][A-Za-z0-9]+)*"
          />
          {from !== undefined && <Checkbox name="copy" label={t.templates.copy(from)} defaultChecked />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t.common.cancel}
            </Button>
            <Button type="submit">{t.templates.open}</Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
