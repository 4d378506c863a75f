import { describe, expect, it } from 'vitest';
import { defectOf, planAction } from '../../simulator/plan-action.ts';
import { simulatedMachine } from '../../simulator/simulated-machine.ts';

describe('a simulated machine', () => {
  it('is the same in every run, and no two are alike', () => {
    expect(simulatedMachine(7)).toEqual(simulatedMachine(7));
    const fleet = Array.from({ length: 500 }, (_, number) => simulatedMachine(number));
    for (const key of ['name', 'uuid', 'serial', 'mac', 'place'] as const)
      expect(new Set(fleet.map((machine) => machine[key])).size, key).toBe(500);
    expect(fleet[0]?.mac).toMatch(/^02(:[0-9a-f]{2}){5}$/);
  });

  it('has a defect if the fleet has: as many as were asked for, of three kinds in turn', () => {
    const defects = (count: number, failing: number) =>
      Array.from({ length: count }, (_, number) => defectOf(number, { count, failing })).filter(
        (defect) => defect !== undefined,
      );
    expect(defects(200, 4)).toEqual(['worn disk', 'damaged image', 'two disks', 'worn disk']);
    expect(defects(3, 3)).toHaveLength(3);
    expect(defects(7, 5)).toHaveLength(5);
    expect(defects(50, 0)).toEqual([]);
  });

  it.each([
    ['worn disk', 'registry.test/image2disk:1.0', 'KND_DISK_WRITE'],
    ['damaged image', 'qemuimg2disk', 'KND_IMAGE_HASH'],
    ['two disks', 'erase_non_removable_disks:latest', 'KND_DISK_AMBIGUOUS'],
  ] as const)('with a %s fails in %s with %s, and nowhere else', (defect, image, code) => {
    expect(planAction(image, 1, defect).fault?.error.code).toBe(code);
    expect(planAction('writefile', 1, defect).fault).toBeUndefined();
    expect(planAction(image, 1, undefined).fault).toBeUndefined();
  });
});
