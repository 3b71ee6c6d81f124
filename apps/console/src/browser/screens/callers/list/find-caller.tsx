import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useSeesPersonalData } from '../../../api/session.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { pathId } from '../identifier.ts'

/** A field for the id of a caller, and its kind, that lead to its page. */
export function FindCaller() {
  const t = useTexts()
  const navigate = useNavigate()
  const seesPersonalData = useSeesPersonalData()
  const kinds = Object.entries(t.callers.kinds).filter(([kind]) => kind !== 'ip' || seesPersonalData)
  return (
    <form
      aria-label={t.callers.find}
      onSubmit={(event) => {
        event.preventDefault()
        const form = new FormData(event.currentTarget)
        const [kind, id] = [String(form.get('kind')), String(form.get('id')).trim()]
        if (id !== '') void navigate({ to: '/limits/callers/$kind/$id', params: { kind, id: pathId(id, kind) } })
      }}
    >
      <Group align="flex-end" gap="xs">
        <NativeSelect name="kind" label={t.callers.kind} data={kinds.map(([value, label]) => ({ value, label }))} />
        <TextInput name="id" label={t.callers.findId} className="grow" />
        <Button type="submit" variant="default">
          {t.callers.open}
        </Button>
      </Group>
    </form>
  )
}
