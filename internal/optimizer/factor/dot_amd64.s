#include "textflag.h"

// One register holds the four lanes of one sum. AX counts the numbers done, CX is how many there are.

// func dot1AVX2(s *[1]partial, a, b *float64, n int)
TEXT ·dot1AVX2(SB), NOSPLIT, $0-32
	MOVQ    s+0(FP), BX
	MOVQ    a+8(FP), R8
	MOVQ    b+16(FP), SI
	MOVQ    n+24(FP), CX
	VMOVUPD (BX), Y0
	XORQ    AX, AX

one:
	VMOVUPD     (SI)(AX*8), Y12
	VFMADD231PD (R8)(AX*8), Y12, Y0
	ADDQ        $4, AX
	CMPQ        AX, CX
	JLT         one
	VMOVUPD     Y0, (BX)
	VZEROUPPER
	RET

// func dot4AVX2(s *[4]partial, a0, a1, a2, a3, b *float64, n int)
TEXT ·dot4AVX2(SB), NOSPLIT, $0-56
	MOVQ    s+0(FP), BX
	MOVQ    a0+8(FP), R8
	MOVQ    a1+16(FP), R9
	MOVQ    a2+24(FP), R10
	MOVQ    a3+32(FP), R11
	MOVQ    b+40(FP), SI
	MOVQ    n+48(FP), CX
	VMOVUPD (BX), Y0
	VMOVUPD 32(BX), Y1
	VMOVUPD 64(BX), Y2
	VMOVUPD 96(BX), Y3
	XORQ    AX, AX

four:
	VMOVUPD     (SI)(AX*8), Y12
	VFMADD231PD (R8)(AX*8), Y12, Y0
	VFMADD231PD (R9)(AX*8), Y12, Y1
	VFMADD231PD (R10)(AX*8), Y12, Y2
	VFMADD231PD (R11)(AX*8), Y12, Y3
	ADDQ        $4, AX
	CMPQ        AX, CX
	JLT         four
	VMOVUPD     Y0, (BX)
	VMOVUPD     Y1, 32(BX)
	VMOVUPD     Y2, 64(BX)
	VMOVUPD     Y3, 96(BX)
	VZEROUPPER
	RET

// func dot12AVX2(s *[12]partial, a0, a1, a2, a3, b0, b1, b2 *float64, n int)
TEXT ·dot12AVX2(SB), NOSPLIT, $0-72
	MOVQ    s+0(FP), BX
	MOVQ    a0+8(FP), R8
	MOVQ    a1+16(FP), R9
	MOVQ    a2+24(FP), R10
	MOVQ    a3+32(FP), R11
	MOVQ    b0+40(FP), SI
	MOVQ    b1+48(FP), DI
	MOVQ    b2+56(FP), DX
	MOVQ    n+64(FP), CX
	VMOVUPD (BX), Y0
	VMOVUPD 32(BX), Y1
	VMOVUPD 64(BX), Y2
	VMOVUPD 96(BX), Y3
	VMOVUPD 128(BX), Y4
	VMOVUPD 160(BX), Y5
	VMOVUPD 192(BX), Y6
	VMOVUPD 224(BX), Y7
	VMOVUPD 256(BX), Y8
	VMOVUPD 288(BX), Y9
	VMOVUPD 320(BX), Y10
	VMOVUPD 352(BX), Y11
	XORQ    AX, AX

twelve:
	VMOVUPD     (SI)(AX*8), Y12
	VMOVUPD     (DI)(AX*8), Y13
	VMOVUPD     (DX)(AX*8), Y14
	VMOVUPD     (R8)(AX*8), Y15
	VFMADD231PD Y12, Y15, Y0
	VFMADD231PD Y13, Y15, Y4
	VFMADD231PD Y14, Y15, Y8
	VMOVUPD     (R9)(AX*8), Y15
	VFMADD231PD Y12, Y15, Y1
	VFMADD231PD Y13, Y15, Y5
	VFMADD231PD Y14, Y15, Y9
	VMOVUPD     (R10)(AX*8), Y15
	VFMADD231PD Y12, Y15, Y2
	VFMADD231PD Y13, Y15, Y6
	VFMADD231PD Y14, Y15, Y10
	VMOVUPD     (R11)(AX*8), Y15
	VFMADD231PD Y12, Y15, Y3
	VFMADD231PD Y13, Y15, Y7
	VFMADD231PD Y14, Y15, Y11
	ADDQ        $4, AX
	CMPQ        AX, CX
	JLT         twelve
	VMOVUPD     Y0, (BX)
	VMOVUPD     Y1, 32(BX)
	VMOVUPD     Y2, 64(BX)
	VMOVUPD     Y3, 96(BX)
	VMOVUPD     Y4, 128(BX)
	VMOVUPD     Y5, 160(BX)
	VMOVUPD     Y6, 192(BX)
	VMOVUPD     Y7, 224(BX)
	VMOVUPD     Y8, 256(BX)
	VMOVUPD     Y9, 288(BX)
	VMOVUPD     Y10, 320(BX)
	VMOVUPD     Y11, 352(BX)
	VZEROUPPER
	RET

// func axpyAVX2(alpha float64, x, y *float64, n int)
TEXT ·axpyAVX2(SB), NOSPLIT, $0-32
	VBROADCASTSD alpha+0(FP), Y0
	MOVQ         x+8(FP), SI
	MOVQ         y+16(FP), DI
	MOVQ         n+24(FP), CX
	XORQ         AX, AX

add:
	VMOVUPD     (DI)(AX*8), Y1
	VFMADD231PD (SI)(AX*8), Y0, Y1
	VMOVUPD     Y1, (DI)(AX*8)
	ADDQ        $4, AX
	CMPQ        AX, CX
	JLT         add
	VZEROUPPER
	RET

// func axpy4AVX2(alpha *[4]float64, x0, x1, x2, x3, y *float64, n int)
TEXT ·axpy4AVX2(SB), NOSPLIT, $0-56
	MOVQ         alpha+0(FP), BX
	MOVQ         x0+8(FP), R8
	MOVQ         x1+16(FP), R9
	MOVQ         x2+24(FP), R10
	MOVQ         x3+32(FP), R11
	MOVQ         y+40(FP), DI
	MOVQ         n+48(FP), CX
	VBROADCASTSD (BX), Y0
	VBROADCASTSD 8(BX), Y1
	VBROADCASTSD 16(BX), Y2
	VBROADCASTSD 24(BX), Y3
	XORQ         AX, AX

addfour:
	VMOVUPD     (DI)(AX*8), Y4
	VFMADD231PD (R8)(AX*8), Y0, Y4
	VFMADD231PD (R9)(AX*8), Y1, Y4
	VFMADD231PD (R10)(AX*8), Y2, Y4
	VFMADD231PD (R11)(AX*8), Y3, Y4
	VMOVUPD     Y4, (DI)(AX*8)
	ADDQ        $4, AX
	CMPQ        AX, CX
	JLT         addfour
	VZEROUPPER
	RET

// TRANSPOSE turns Y0 to Y3 into the registers of their first, second, third and fourth lanes. It
// uses Y4 to Y7.
#define TRANSPOSE \
	VUNPCKLPD  Y1, Y0, Y4        \
	VUNPCKHPD  Y1, Y0, Y5        \
	VUNPCKLPD  Y3, Y2, Y6        \
	VUNPCKHPD  Y3, Y2, Y7        \
	VPERM2F128 $0x20, Y6, Y4, Y0 \
	VPERM2F128 $0x20, Y7, Y5, Y1 \
	VPERM2F128 $0x31, Y6, Y4, Y2 \
	VPERM2F128 $0x31, Y7, Y5, Y3

// LANES loads the sums of one row for four right-hand sides, a lane to a register.
#define LANES(row) \
	VMOVUPD (32*row)(BX), Y0     \
	VMOVUPD (32*row+128)(BX), Y1 \
	VMOVUPD (32*row+256)(BX), Y2 \
	VMOVUPD (32*row+384)(BX), Y3 \
	TRANSPOSE

// TOTAL adds the lanes up to Y0.
#define TOTAL \
	VADDPD Y1, Y0, Y0 \
	VADDPD Y3, Y2, Y2 \
	VADDPD Y2, Y0, Y0

// KNOWN adds the product of entry column of a row of L and what was found for it to a lane.
#define KNOWN(row, column, found, lane) \
	VBROADCASTSD (8*column)(row), Y8 \
	VFMADD231PD  found, Y8, lane

// FOUND turns an entry of the right-hand sides into (b − total)/l.
#define FOUND(row, column, b) \
	TOTAL                            \
	VBROADCASTSD (8*column)(row), Y8 \
	VSUBPD       Y0, b, b            \
	VDIVPD       Y8, b, b

// func finish4AVX2(s *[16]partial, l0, l1, l2, l3, b0, b1, b2, b3 *float64)
TEXT ·finish4AVX2(SB), NOSPLIT, $0-72
	MOVQ    s+0(FP), BX
	MOVQ    l0+8(FP), R8
	MOVQ    l1+16(FP), R9
	MOVQ    l2+24(FP), R10
	MOVQ    l3+32(FP), R11
	MOVQ    b0+40(FP), SI
	MOVQ    b1+48(FP), DI
	MOVQ    b2+56(FP), DX
	MOVQ    b3+64(FP), CX
	VMOVUPD (SI), Y0
	VMOVUPD (DI), Y1
	VMOVUPD (DX), Y2
	VMOVUPD (CX), Y3
	TRANSPOSE
	VMOVAPD Y0, Y12
	VMOVAPD Y1, Y13
	VMOVAPD Y2, Y14
	VMOVAPD Y3, Y15
	LANES(0)
	FOUND(R8, 0, Y12)
	LANES(1)
	KNOWN(R9, 0, Y12, Y0)
	FOUND(R9, 1, Y13)
	LANES(2)
	KNOWN(R10, 0, Y12, Y0)
	KNOWN(R10, 1, Y13, Y1)
	FOUND(R10, 2, Y14)
	LANES(3)
	KNOWN(R11, 0, Y12, Y0)
	KNOWN(R11, 1, Y13, Y1)
	KNOWN(R11, 2, Y14, Y2)
	FOUND(R11, 3, Y15)
	VMOVAPD Y12, Y0
	VMOVAPD Y13, Y1
	VMOVAPD Y14, Y2
	VMOVAPD Y15, Y3
	TRANSPOSE
	VMOVUPD Y0, (SI)
	VMOVUPD Y1, (DI)
	VMOVUPD Y2, (DX)
	VMOVUPD Y3, (CX)
	VZEROUPPER
	RET
