import { Kbd, Table } from '@mantine/core'
import { spotlight } from '@mantine/spotlight'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { pressRowKey } from '../parts/row-keys.ts'
import { useSettings, useTexts } from '../texts/settings.tsx'
import { useSections } from './sections.ts'

/** How long `g` waits for its letter, in milliseconds. */
const letterMs = 1_500

/** The shortcuts of single keys, unless they are switched off, and the list of them behind `?`. */
export function KeyboardHelp() {
  const t = useTexts()
  const { settings } = useSettings()
  const sections = useSections()
  const navigate = useNavigate()
  const [open, setOpen] = useState(false)
  useEffect(() => {
    if (!settings.keys) return
    let leaderUntil = 0
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const section = performance.now() < leaderUntil && sections.find(({ letter }) => letter === event.key)
      leaderUntil = event.key === 'g' ? performance.now() + letterMs : 0
      if (section) void navigate({ to: section.path })
      else if (event.key === '/') spotlight.open()
      else if (event.key === '?') setOpen(true)
      else if (!pressRowKey(event.key)) return
      event.preventDefault()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [settings.keys, sections, navigate])
  const rows = [
    ['/', t.help.search],
    ['Ctrl K', t.help.search],
    ...sections.map(({ letter, id }) => [`g ${letter}`, t.help.goTo(t.sections[id])] as const),
    ['j', t.help.nextRow],
    ['k', t.help.previousRow],
    ['Enter', t.help.openRow],
    ['x', t.help.selectRow],
    ['e', t.help.editRow],
    ['r', t.help.replayRow],
    ['.', t.help.rowActions],
    ['?', t.help.help],
    ['Esc', t.help.escape],
  ] as const
  return (
    <Dialog title={t.help.title} open={open} close={() => setOpen(false)}>
      <Table aria-label={t.help.title}>
        <Table.Tbody>
          {rows.map(([keys, text]) => (
            <Table.Tr key={keys}>
              <Table.Td>
                {keys.split(' ').map((key) => (
                  <Kbd key={key} mr={4}>
                    {key}
                  </Kbd>
                ))}
              </Table.Td>
              <Table.Td>{text}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Dialog>
  )
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
}
